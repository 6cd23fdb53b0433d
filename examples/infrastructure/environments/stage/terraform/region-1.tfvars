environment   = "stage"
api_image     = "registry.example/shop/api:2.14.0"
api_instances = 2
worker_image  = "registry.example/shop/worker:1.9.3"

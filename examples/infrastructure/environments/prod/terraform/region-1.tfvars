environment   = "prod"
api_image     = "registry.example/shop/api:2.13.1"
api_instances = 6
worker_image  = "registry.example/shop/worker:1.9.2"

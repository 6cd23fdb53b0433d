# The first region has the workers as well.

module "api" {
  source = "../../modules/service"

  environment = var.environment
  region      = "region-1"
  name        = "api"
  image       = var.api_image
  instances   = var.api_instances

  ports = {
    https   = { port = 443, from = "0.0.0.0/0" }
    metrics = { port = 9090, from = "10.20.0.0/16" }
  }
}

module "worker" {
  source = "../../modules/service"

  environment = var.environment
  region      = "region-1"
  name        = "worker"
  image       = var.worker_image
  instances   = 1
  memory      = 1024
}

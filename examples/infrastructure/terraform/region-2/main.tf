# The second region answers for the API only.

module "api" {
  source = "../../modules/service"

  environment = var.environment
  region      = "region-2"
  name        = "api"
  image       = var.api_image
  instances   = var.api_instances

  ports = {
    https   = { port = 443, from = "0.0.0.0/0" }
    metrics = { port = 9090, from = "10.20.0.0/16" }
  }
}

output "api" {
  description = "The API of this region: its full name and ports."
  value = {
    name  = module.api.name
    ports = module.api.ports
  }
}

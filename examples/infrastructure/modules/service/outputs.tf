output "name" {
  description = "Full name of the service."
  value       = terraform_data.deployment.output.name
}

output "ports" {
  description = "Ports that may be reached, by name."
  value       = { for name, rule in terraform_data.firewall : name => rule.output.port }
}

output "network_ranges" {
  description = "Address range of each region's network."
  value       = { for region, network in terraform_data.network : region => network.output.range }
}

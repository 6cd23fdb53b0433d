# What all regions share.

locals {
  regions = ["region-1", "region-2"]
}

resource "terraform_data" "network" {
  for_each = toset(local.regions)

  input = {
    name  = "${var.environment}-${each.key}"
    range = cidrsubnet(var.address_range, 4, index(local.regions, each.key))
  }
}

resource "terraform_data" "audit_log" {
  input = {
    name           = "${var.environment}-audit"
    retention_days = var.audit_retention_days
  }
}

resource "terraform_data" "pager" {
  input = {
    name  = "${var.environment}-on-call"
    token = var.pager_token
  }
}

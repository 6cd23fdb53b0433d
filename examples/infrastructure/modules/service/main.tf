# A service of one region: how it is to run, what may reach it, and who is told when it doesn't.

# Another image is another deployment: the old one goes, a new one comes.
resource "terraform_data" "deployment" {
  triggers_replace = [var.image]

  input = {
    name      = local.full_name
    image     = var.image
    instances = var.instances
    memory    = var.memory
  }
}

resource "terraform_data" "firewall" {
  for_each = var.ports

  input = {
    service = local.full_name
    name    = each.key
    port    = each.value.port
    from    = each.value.from
  }
}

resource "terraform_data" "alarm" {
  input = {
    service   = local.full_name
    below     = ceil(var.instances / 2)
    deploy_id = terraform_data.deployment.id
  }
}

locals {
  full_name = "${var.environment}-${var.region}-${var.name}"
}

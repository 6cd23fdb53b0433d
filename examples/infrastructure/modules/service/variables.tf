variable "environment" {
  description = "Environment that the service belongs to."
  type        = string
}

variable "region" {
  description = "Region that the service runs in."
  type        = string
}

variable "name" {
  description = "Name of the service, without environment and region."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "A service is named with lower-case letters, digits and hyphens."
  }
}

variable "image" {
  description = "Container image with its tag."
  type        = string
}

variable "instances" {
  description = "How many instances run."
  type        = number

  validation {
    condition     = var.instances >= 1 && var.instances <= 50
    error_message = "A service runs between 1 and 50 instances."
  }
}

variable "memory" {
  description = "Memory of an instance, in MiB."
  type        = number
  default     = 512
}

variable "ports" {
  description = "Ports that may be reached, by name, and from where."
  type = map(object({
    port = number
    from = string
  }))
  default = {}
}

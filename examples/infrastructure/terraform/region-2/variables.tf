variable "environment" {
  description = "Environment: stage or prod."
  type        = string

  validation {
    condition     = contains(["stage", "prod"], var.environment)
    error_message = "The environment is stage or prod."
  }
}

variable "api_image" {
  description = "Image of the API."
  type        = string
}

variable "api_instances" {
  description = "How many instances of the API run."
  type        = number
}

variable "environment" {
  description = "Environment: stage or prod."
  type        = string

  validation {
    condition     = contains(["stage", "prod"], var.environment)
    error_message = "The environment is stage or prod."
  }
}

variable "address_range" {
  description = "Addresses that the networks of all regions are cut from."
  type        = string
  default     = "10.20.0.0/16"
}

variable "audit_retention_days" {
  description = "How long the audit log is kept, in days."
  type        = number
  default     = 90
}

variable "pager_token" {
  description = "Token of the on-call service; from the secret `infrastructure`, key `pager-token`."
  type        = string
  default     = ""
  sensitive   = true
}

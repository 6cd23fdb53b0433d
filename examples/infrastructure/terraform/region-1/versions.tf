terraform {
  required_version = ">= 1.5"

  # Where the state is comes from `init -backend-config=path=…`: outside every checkout.
  backend "local" {}
}

#!/usr/bin/env bash
# What of rldp works on this machine's CUDA device, and how fast: see gpu_check.py, or --help.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/gpu_check.py" "$@"

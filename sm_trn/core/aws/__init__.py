"""boto3 behind the ports."""

from .artefacts import model_digests
from .backend import Boto3Backend, make_client
from .git import Checkout, checkout
from .identity import check_endpoint, configured_region, find_bucket, find_region, find_role, has_credentials
from .logs import CloudWatchLogs
from .online import Boto3Account, online_problems
from .prices import fetch_region_prices
from .renewal import EndpointSession, RenewableSession, configured
from .storage import S3Storage, pack
from .utilization import CloudWatchUtilization

__all__ = [
    "Boto3Account",
    "Boto3Backend",
    "Checkout",
    "CloudWatchLogs",
    "CloudWatchUtilization",
    "EndpointSession",
    "RenewableSession",
    "S3Storage",
    "check_endpoint",
    "checkout",
    "configured",
    "configured_region",
    "fetch_region_prices",
    "find_bucket",
    "find_region",
    "find_role",
    "has_credentials",
    "make_client",
    "model_digests",
    "online_problems",
    "pack",
]

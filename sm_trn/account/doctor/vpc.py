"""The job's VPC: have its subnets a way to S3, and may its hosts talk to one another?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.specs.data import Network
from .finding import Finding, State
from .login import Login

Answer = dict[str, Any]  # as EC2 gives it


def look(login: Login, network: Network, hosts: int) -> Iterator[Finding]:
    """Whether the subnets have a way to S3, and the security groups let the hosts talk to one another."""
    client = login.client("ec2")
    subnets = client.describe_subnets(SubnetIds=list(network.subnets))["Subnets"]
    vpcs = [{"Name": "vpc-id", "Values": sorted({each["VpcId"] for each in subnets})}]
    tables = client.describe_route_tables(Filters=vpcs)["RouteTables"]
    without = [each["SubnetId"] for each in subnets if not _reaches_s3(_table_of(each, tables))]
    if without:
        says = f"no route to S3 from {', '.join(without)} (VPC job)"
        fix = f"add a gateway endpoint for com.amazonaws.{login.region}.s3 to the subnet's route table"
        yield Finding("network", State.WARNING, says, fix)
    else:
        yield Finding("network", State.READY, "the subnets reach S3")
    if hosts > 1:
        groups = client.describe_security_groups(GroupIds=list(network.security_groups))["SecurityGroups"]
        if not any(map(_talks_to_itself, groups)):
            says = "no security group lets the hosts talk to one another on all ports, as EFA and NCCL do"
            fix = "add a rule for all traffic from and to the group itself"
            yield Finding("network", State.WARNING, says, fix)


def _table_of(subnet: Answer, tables: list[Answer]) -> Answer | None:
    """The subnet's own route table, else its VPC's main one."""
    own = [
        table for table in tables if any(each.get("SubnetId") == subnet["SubnetId"] for each in table["Associations"])
    ]
    main = [
        table
        for table in tables
        if table["VpcId"] == subnet["VpcId"] and any(each.get("Main") for each in table["Associations"])
    ]
    return next(iter(own or main), None)


def _reaches_s3(table: Answer | None) -> bool:
    """A gateway endpoint, a NAT or another way out. An internet gateway is none: SageMaker's interfaces have no public address."""
    for route in table["Routes"] if table else []:
        gateway = route.get("GatewayId", "")
        out = route.get("DestinationCidrBlock") == "0.0.0.0/0" and not gateway.startswith("igw-") and gateway != "local"
        if route.get("State", "active") == "active" and (gateway.startswith("vpce-") or out):
            return True
    return False


def _talks_to_itself(group: Answer) -> bool:
    """Whether all ports are open between the group's own members, both ways."""
    return all(
        any(_open(rule, group["GroupId"]) for rule in group[side]) for side in ("IpPermissions", "IpPermissionsEgress")
    )


def _open(rule: Answer, group: str) -> bool:
    own = any(pair.get("GroupId") == group for pair in rule.get("UserIdGroupPairs", []))
    everywhere = any(each.get("CidrIp") == "0.0.0.0/0" for each in rule.get("IpRanges", []))
    return rule.get("IpProtocol") == "-1" and (own or everywhere)

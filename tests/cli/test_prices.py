"""Prices: refreshed from the Price List API as boto3 speaks it, kept in a file, and used by every command that is told so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from command import sm_trn

from sm_trn.core.errors import SmTrnError
from sm_trn.core.pricing import Price, dump_prices, parse_prices

PRICE = Price(
    instance="ml.p4d.24xlarge", region="us-west-2", usd_per_hour=Decimal("12.5"), as_of="2026-11-01", component="Training", source="a test"
)  # fmt: skip


class PriceList(BaseHTTPRequestHandler):
    """GetProducts for one instance type; nothing for the others."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wanted = {item["Field"]: item["Value"] for item in body["Filters"]}
        hour = {"unit": "Hrs", "pricePerUnit": {"USD": "9.875"}}
        product = {
            "product": {"attributes": {"component": "Training", **wanted}},
            "terms": {"OnDemand": {"A": {"effectiveDate": "2026-11-01T00:00:00Z", "priceDimensions": {"B": hour}}}},
        }
        of_a_region = "instanceName" not in wanted
        if of_a_region:
            product["product"]["attributes"]["instanceName"] = "ml.trn1.32xlarge"
        found = [json.dumps(product)] if of_a_region or wanted["instanceName"] == "ml.trn1.32xlarge" else []
        answer = json.dumps({"FormatVersion": "aws_v1", "PriceList": found}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the base class's name
        del format


@pytest.fixture
def price_list() -> Iterator[dict[str, str]]:
    server = HTTPServer(("127.0.0.1", 0), PriceList)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield {
        "AWS_ENDPOINT_URL_PRICING": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_update_keeps_newer_prices_where_every_command_reads_them(
    price_list: dict[str, str], tmp_path: Path
) -> None:
    own = {"SM_TRN_CATALOG": str(tmp_path / "new" / "catalog.json")}
    updated = sm_trn("catalog", "update", "--region", "eu-west-1", environment={**price_list, **own})
    assert 0 == updated.returncode, updated.stderr
    assert "prices: 1 newer price of 1 in eu-west-1, from the AWS Price List" in updated.stdout
    shown = sm_trn("catalog", "instances", "ml.trn1.32xlarge", "--region", "eu-west-1", environment=own)
    assert "9.88" in shown.stdout
    again = sm_trn("catalog", "update", "--region", "eu-west-1", environment={**price_list, **own})
    assert "nothing is newer than what is known already" in again.stdout
    listed = sm_trn("catalog", environment=own)
    assert f"Your own facts: {own['SM_TRN_CATALOG']} (made " in listed.stdout


def test_without_credentials_an_update_says_that_no_price_was_asked_for(tmp_path: Path) -> None:
    own = {"SM_TRN_CATALOG": str(tmp_path / "catalog.json"), "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}
    updated = sm_trn("catalog", "update", environment=own)
    assert 0 == updated.returncode, updated.stderr
    assert "prices: not asked, for there are no AWS credentials" in updated.stdout
    assert not (tmp_path / "catalog.json").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 9, "made": "", "images": {}, "prices": {}}', "\0"])
def test_a_file_of_facts_that_is_none_is_said_with_its_mend(text: str, tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text(text)
    refused = sm_trn("catalog", "images", environment={"SM_TRN_CATALOG": str(tmp_path / "catalog.json")})
    assert 2 == refused.returncode
    assert "wanted what sm-trn catalog update writes; delete the file, then run sm-trn catalog update" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_prices_survive_the_file() -> None:
    assert (PRICE,) == parse_prices(dump_prices([PRICE]))


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema": 1}', '{"schema": 2, "rows": []}', dump_prices([PRICE]).replace("12.5", "-1"),
     dump_prices([PRICE]).replace("12.5", "NaN"), dump_prices([PRICE]).replace("2026-11-01", "soon")],
)  # fmt: skip
def test_anything_else_is_no_table_of_prices(text: str) -> None:
    with pytest.raises(SmTrnError, match="a file: "):
        parse_prices(text, where="a file")

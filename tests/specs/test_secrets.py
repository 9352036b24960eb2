"""Secrets are found by their names and by their forms; numbers, paths, hashes and words of a vocabulary are none."""

from __future__ import annotations

import random
import string

import pytest

from sm_trn.core.preflight.secrets import is_named_secret, without_secrets

AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # AWS's own example: https://docs.aws.amazon.com/cli/v1/userguide/cli-configure-files.html
SHA = "9fceb02d0ae598e95dc970b74767f19372d61af8"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
FORMS = (
    "hf_" + "aB3" * 11, "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", AWS, "ghp_" + "aB3" * 12, "gho_" + "aB3" * 12,
    "github_pat_11ABCDEFG0" + "aB3_" * 15, "glpat-" + "aB3-" * 5, "xoxb-123456789012-abcdefABCDEF", "AIza" + "aB3_-" * 7,
    "sk-proj-" + "aB3_" * 8, "wandb_v1_" + "aB3_" * 8, PEM, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.dozjgNryP4J3jVmNHl0w5N",
)  # fmt: skip


@pytest.mark.parametrize("secret", FORMS)
@pytest.mark.parametrize("text", ["{}", '"{}"', "--x {} --epochs 3", "x={}&epochs=3", "see {}, please"])
def test_a_secret_is_found_by_its_form_wherever_it_stands(secret: str, text: str) -> None:
    assert text.format("…") == without_secrets(text.format(secret), "…")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"wandb login {SHA}", "wandb login …"),
        ("MY_PASS=hunter22 python x.py", "MY_PASS=… python x.py"),
        ("--api-key abcdef --lr 1", "--api-key … --lr 1"),
        ('{"db_password": "hunter22", "max_tokens": 5}', '{"db_password": "…", "max_tokens": 5}'),
        ("postgres://me:hunter22@db/x", "postgres://…@db/x"),
        ("Authorization: Bearer abcdefghijklmnop0", "Authorization: Bearer …"),
    ],
)
def test_a_secret_is_found_by_what_stands_before_it(text: str, left: str) -> None:
    assert left == without_secrets(text, "…")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "hf_abc"), ("MY_PASS", "hunter22"), ("WANDB_API_KEY", SHA), ("dbPassword", "12345678"), ("client-secret", "abc"),
        ("WANDB", SHA), ("AWS_SECRET_ACCESS_KEY", AWS), ("GIT_TOKEN", "abcdefgh12345678"), ("token", "abcdefgh12345678"),
    ],
)  # fmt: skip
def test_a_secret_is_found_by_its_name(name: str, value: str) -> None:
    assert is_named_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", "4096"), ("tokenizer_name", "bert-base-uncased-whole-word-masking"), ("pad_token", "<|endoftext|>"),
        ("eos_token", "</s>"), ("num_train_tokens", "1000000000000"), ("token_count", "123456789012"), ("use_auth_token", "true"),
        ("image_token", "image_token_0123456789"), ("secret_name", "prod/database/password"), ("credentials_path", "/opt/ml/x"),
        ("DB_SECRET_ARN", "arn:aws:secretsmanager:us-west-2:111122223333:secret:x"), ("n_pass", "2"), ("one_pass", "true"),
        ("password_column", "password"), ("revision", SHA), ("sagemaker_submit_directory", f"s3://b/{SHA}/source/sourcedir.tar.gz"),
        ("sort_key", "created"), ("keys", "a,b,c,d,e,f,g"), ("compass", "north-north-west"), ("access_token_url", "https://x.org/y"),
        ("HF_TOKEN", "YOUR-HF-TOKEN"),
    ],
)  # fmt: skip
def test_a_normal_value_stays(name: str, value: str) -> None:
    assert not is_named_secret(name, value)
    assert value == without_secrets(value, "…")
    assert f"--{name} {value}" == without_secrets(f"--{name} {value}", "…")


@pytest.mark.parametrize(
    "text",
    [
        SHA, "sha256:" + SHA + SHA[:24], f"s3://bucket/{SHA}/sourcedir.tar.gz", "763104351884.dkr.ecr.us-west-2.amazonaws.com/a:1.13",
        "sk-learn-pipeline-with-a-very-long-name-of-a-job", "task-0123456789-abcdefghij-0123456789", "/opt/ml/input/data/training/p-0123",
        "opt/ml/input/data/Training/Part0001/Final", "s3://Bucket/ProjectX/Team42/ModelTrainingRun2022Fin", "a password is asked for",
        "tokens: 4096, secrets of the trade", "loss=([0-9.]+)", "-----BEGIN CERTIFICATE-----\nMIID", "https://user@host/x", "1e-5",
        '{"HF_TOKEN": os.environ["HF_TOKEN"]}',
        "bert-base-uncased", "meta-llama/Llama-2-7b-hf", "n47DQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    ],
)  # fmt: skip
def test_a_normal_text_stays(text: str) -> None:
    assert text == without_secrets(text, "…")


def test_nearly_every_secret_key_of_aws_is_found() -> None:
    dice, letters = random.Random(7), string.ascii_letters + string.digits + "/+"
    keys = ["".join(dice.choices(letters, k=40)) for _ in range(2000)]
    assert sum(without_secrets(f"key {key} of", "…") == "key … of" for key in keys) >= 1980

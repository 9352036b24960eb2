"""HTTP: the listening server, the bodies of requests, the answers, and moto behind them."""

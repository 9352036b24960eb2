"""This room holds the HTTP server, the bodies of requests, the answers, and moto, which answers for the services that are not ours."""

"""Durable jobs: work that is stored with the data of the app, and stays there until it is done."""

"""Databases: addresses, files and servers, tables and rows."""

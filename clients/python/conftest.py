"""Generates the client's code before any test is imported."""

import importlib

import generate

generate.generate()
importlib.invalidate_caches()

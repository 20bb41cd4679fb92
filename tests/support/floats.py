"""Little-endian fp32 values from bytes and from base64, for tests of the server and its pages."""

import base64
import struct


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def floats_of_base64(text):
    return floats(base64.b64decode(text))


def layer_values(data):
    """{layer: its values} of the data of a page."""
    texts = zip(data["network"]["nodes"], data["look"]["values"])
    return {node["name"]: floats_of_base64(text) for node, text in texts}

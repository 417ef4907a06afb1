"""A webhook: a signed POST to where somebody said, and to nowhere else.

The receiver's name is looked up once for each delivery, and the connection goes to an address that was found and
checked, whatever the name stands for a moment later. Private addresses (this machine, its network, the metadata of a
cloud) are refused unless they were allowed; redirects are not followed, and no proxy of the environment is used.
"""

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

TIMEOUT = 10.0  # seconds for the receiver to answer
MOST_READ = 1 << 16  # bytes of the answer


class NotReceived(OSError):
    """The receiver answered something else than 2xx, or may not be called."""


def signature(secret: str, at: str, body: bytes) -> str:
    """What shows that it comes from us, and when: the HMAC-SHA256 of the time, a full stop and the body.

    >>> len(signature("secret", "1767225600", b"{}").removeprefix("sha256="))
    64
    """
    return "sha256=" + hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


def is_public(address: str) -> bool:
    """Whether an address is one of the internet, and of no private network.

    >>> [is_public(each) for each in ("93.184.216.34", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "fd00::1")]
    [True, False, False, False, False]
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if inner is not None:
            return is_public(str(inner))
        if found in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        if found.is_site_local:  # which `is_global` does not know of
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # addresses of IPv4 as a gateway knows them


def resolved(host: str, port: int, *, private: bool) -> str:
    """An address of this host; NotReceived where one of them is private, and that is not allowed."""
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not private and not all(map(is_public, found)):
        raise NotReceived("the webhook has a private address, which is not allowed")
    return found[0]


def post(url: str, secret: str, name: str, body: bytes, *, private: bool = False) -> None:
    """Deliver a body under a name; OSError where it was not received."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    address = resolved(host, port, private=private)
    at = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "outlay",
        "X-Outlay-Warning": name,
        "X-Outlay-Time": at,
        "X-Outlay-Signature": signature(secret, at, body),
    }
    connection = (_Secure if secure else _Plain)(host, port, timeout=TIMEOUT)
    connection.address = address
    patience = threading.Timer(TIMEOUT, connection.hang_up)  # who answers a byte at a time would be in time for ever
    patience.start()
    try:
        connection.request("POST", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", body, headers)
        answer = connection.getresponse()
        answer.read(MOST_READ)
    except http.client.HTTPException as error:
        raise NotReceived(f"the receiver speaks no HTTP: {type(error).__name__}") from error
    finally:
        patience.cancel()
        connection.close()
    if not 200 <= answer.status < 300:
        raise NotReceived(f"the receiver answered {answer.status}")


class _Plain(http.client.HTTPConnection):
    """A connection to the address that was checked, in the name of the host."""

    address = ""
    _socket: socket.socket | None = None

    def connect(self) -> None:
        self.sock = self._socket = socket.create_connection((self.address, self.port), self.timeout)

    def hang_up(self) -> None:
        """Listen no more, from any thread."""
        if self._socket is not None:
            with suppress(OSError):  # it is over already
                self._socket.shutdown(socket.SHUT_RDWR)


class _Secure(_Plain):
    """The same with TLS, whose certificate must be the host's."""

    default_port = 443

    def connect(self) -> None:
        super().connect()
        self._socket = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)
        self.sock = self._socket

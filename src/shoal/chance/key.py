"""A secret key of 256 bits that no text shows, that derives other keys by name, and that can be destroyed."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import weakref
from typing import TYPE_CHECKING, Literal, NoReturn

from shoal.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

BLOCK = 16
"""Bytes of one AES block."""

ZEROS = memoryview(bytes(1 << 20))
"""What is enciphered to obtain a keystream, a piece at a time: long enough to be fast, short enough for a cache."""

Kind = Literal["bits", "stream", "row mask"]


class SecretKey:
    """A 256-bit secret, and whether it came from the operating system.

    A secret that is given carries no guarantee, whatever it is: nobody here knows who else has it, or had it before. Only
    `SecretKey.fresh` and what is derived from it do.

    A key does one of two things, never both: it derives other keys, or it runs AES-256.
    Derivation is HKDF-Expand (RFC 5869, one block of HMAC-SHA-256), whose `info` holds the kind, the number and
    the name in an encoding that no two triples share; so derived keys are independent as far as HMAC is a
    pseudo-random function. Destroying a key destroys all that were derived from it.

    Erasing is best effort: Python and OpenSSL may have made copies that we cannot reach.
    """

    __slots__ = ("__weakref__", "_children", "_process", "_secret", "_stream", "_trusted", "lock")

    def __init__(self, secret: bytearray) -> None:
        self._secret = secret
        self._children: weakref.WeakSet[SecretKey] = weakref.WeakSet()
        self.lock = threading.Lock()
        self._process = os.getpid()
        self._stream: CipherContext | None = None
        self._trusted = False
        weakref.finalize(self, _wipe, secret)

    @classmethod
    def fresh(cls) -> SecretKey:
        """A key from the operating system's generator."""
        return cls.with_origin(bytearray(os.urandom(32)), trusted=True)

    @classmethod
    def with_origin(cls, secret: bytearray, *, trusted: bool) -> SecretKey:
        """A key whose origin is known here; for this package alone."""
        key = cls(secret)
        key._trusted = trusted
        return key

    @property
    def carries_guarantee(self) -> bool:
        """Whether it came from the operating system and has been in no other hands."""
        return self._trusted

    def distrust(self) -> None:
        """Mark a key that was handed in, and whatever is derived from it from now on, as carrying no guarantee."""
        self._trusted = False

    @classmethod
    def seeded(cls, seed: int | str) -> SecretKey:
        """A key from a seed that anyone can guess: the same each time, and marked as carrying no guarantee."""
        text = f"shoal test seed\0{type(seed).__name__}\0{seed}"
        return cls(bytearray(hashlib.sha256(text.encode()).digest()))

    @property
    def is_destroyed(self) -> bool:
        """Whether the secret is gone."""
        return not self._secret

    def derive(self, kind: Kind, name: str, number: int) -> SecretKey:
        """The key of that kind, name and number, which knows nothing of this one and cannot lead back to it."""
        self._check_process()
        info = b"shoal/1\0" + kind.encode() + b"\0" + number.to_bytes(8, "big") + name.encode() + b"\x01"
        child = SecretKey.with_origin(
            bytearray(hmac.digest(self.secret(), info, "sha256")), trusted=self.carries_guarantee
        )
        self._children.add(child)
        return child

    def fill(self, buffer: memoryview) -> None:
        """Overwrite the buffer with the next bytes of this key's keystream; no byte is ever given twice."""
        self._check_process()
        with self.lock:
            if self._stream is None or self.is_destroyed:
                self._stream = self.counter_mode(0)
            for start in range(0, len(buffer), len(ZEROS)):
                piece = buffer[start : start + len(ZEROS)]
                self._stream.update_into(ZEROS[: len(piece)], piece)

    def counter_mode(self, start: int) -> CipherContext:
        """AES-256 applied to the blocks start, start + 1, …, read as 128-bit big-endian numbers."""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        return Cipher(algorithms.AES(self.secret()), modes.CTR(start.to_bytes(BLOCK, "big"))).encryptor()

    def block_mode(self) -> CipherContext:
        """AES-256 applied to each block on its own; the blocks given are distinct and known, so this is safe."""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        return Cipher(algorithms.AES(self.secret()), modes.ECB()).encryptor()  # noqa: S305 - a PRF of row numbers

    def secret(self) -> bytearray:
        """The bytes themselves, for a cipher; an error once they are destroyed."""
        if self.is_destroyed:
            raise UsageError(
                "this source of random bits is closed and its key destroyed",
                fix="open a new one with Source.secure(); a release never continues with another's key",
            )
        return self._secret

    def destroy(self) -> None:
        """Overwrite the secret with zeros and forget it, here and in every key derived from it."""
        with self.lock:
            self._stream = None
            _wipe(self._secret)
            self._secret = bytearray()
        for child in list(self._children):
            child.destroy()

    def _check_process(self) -> None:
        """A forked process would repeat its parent's bits, and noise that is used twice cancels."""
        if self._process != os.getpid():
            raise UsageError(
                "a source of random bits was carried into another process, where its bits would repeat",
                fix="open a new source there, or send it a row mask, which has no position to repeat",
            )

    def __repr__(self) -> str:
        return "SecretKey(hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            "a key is never copied, pickled or saved",
            fix="to send a row mask to another process, ask for mask.portable()",
        )


def _wipe(secret: bytearray) -> None:
    secret[:] = bytes(len(secret))

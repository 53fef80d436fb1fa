/** CRC-32 as zlib, gzip (RFC 1952, section 8) and PNG have it, for hosts that bring none. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  return remainder;
});

export function crc32(bytes: Uint8Array): number {
  let remainder = -1;
  for (const byte of bytes) remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ byte) & 255] ?? 0);
  return ~remainder >>> 0;
}

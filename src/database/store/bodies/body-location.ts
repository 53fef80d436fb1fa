import { storageDamage } from '../../../base/errors/database-error.ts';
import type { BodyLocation } from '../contract.ts';

/** The body `{}` is not stored: most tombstones have it. */
export const EMPTY_BODY = '{}';
export const EMPTY_LOCATION: BodyLocation = { page: 0, offset: 0, length: 2 };

/** Returns `page.offset.length[.checksum[.digest]…]`, numbers in base 36; a digest only if there is a checksum. */
export function encodeLocation({ page, offset, length, checksum, attachments }: BodyLocation): string {
  const place = `${page.toString(36)}.${offset.toString(36)}.${length.toString(36)}`;
  const checked = checksum === undefined ? place : `${place}.${checksum.toString(36)}`;
  return attachments === undefined ? checked : `${checked}.${attachments.join('.')}`;
}

export function decodeLocation(text: string): BodyLocation {
  const first = text.indexOf('.');
  const second = text.indexOf('.', first + 1);
  const third = text.indexOf('.', second + 1);
  const fourth = third < 0 ? -1 : text.indexOf('.', third + 1);
  const checksumEnd = fourth < 0 ? text.length : fourth;
  const location = {
    page: Number.parseInt(text.slice(0, first), 36),
    offset: Number.parseInt(text.slice(first + 1, second), 36),
    length: Number.parseInt(third < 0 ? text.slice(second + 1) : text.slice(second + 1, third), 36),
    checksum: third < 0 ? undefined : Number.parseInt(text.slice(third + 1, checksumEnd), 36),
    attachments: fourth < 0 ? undefined : text.slice(fourth + 1).split('.'),
  };
  const sum = location.page + location.offset + location.length + (location.checksum ?? 0);
  if (first < 1 || second < 0 || Number.isNaN(sum)) {
    throw storageDamage(`"${text}" is not the place of a document body.`);
  }
  return location;
}

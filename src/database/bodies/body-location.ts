import { DatabaseError } from '../../errors/database-error.ts';
import type { BodyLocation } from '../contract.ts';

/** The body `{}` is stored nowhere: most tombstones have it. */
export const EMPTY_BODY = '{}';
export const EMPTY_LOCATION: BodyLocation = { page: 0, offset: 0, length: 2 };

export function encodeLocation({ page, offset, length, checksum }: BodyLocation): string {
  const place = `${page.toString(36)}.${offset.toString(36)}.${length.toString(36)}`;
  return checksum === undefined ? place : `${place}.${checksum.toString(36)}`;
}

export function decodeLocation(text: string): BodyLocation {
  const first = text.indexOf('.');
  const second = text.indexOf('.', first + 1);
  const third = text.indexOf('.', second + 1);
  const location = {
    page: Number.parseInt(text.slice(0, first), 36),
    offset: Number.parseInt(text.slice(first + 1, second), 36),
    length: Number.parseInt(third < 0 ? text.slice(second + 1) : text.slice(second + 1, third), 36),
    checksum: third < 0 ? undefined : Number.parseInt(text.slice(third + 1), 36),
  };
  const sum = location.page + location.offset + location.length + (location.checksum ?? 0);
  if (first < 1 || second < 0 || Number.isNaN(sum)) {
    throw new DatabaseError('storage_corrupt', `"${text}" is not the place of a document body; run a verification.`);
  }
  return location;
}

import { DatabaseError } from '../../errors/database-error.ts';
import type { BodyLocation } from '../contract.ts';

/** The body `{}` is stored nowhere: most tombstones have it. */
export const EMPTY_BODY = '{}';
export const EMPTY_LOCATION: BodyLocation = { page: 0, offset: 0, length: 2 };

export function encodeLocation(location: BodyLocation): string {
  return `${location.page.toString(36)}.${location.offset.toString(36)}.${location.length.toString(36)}`;
}

export function decodeLocation(text: string): BodyLocation {
  const first = text.indexOf('.');
  const second = text.indexOf('.', first + 1);
  const location = {
    page: Number.parseInt(text.slice(0, first), 36),
    offset: Number.parseInt(text.slice(first + 1, second), 36),
    length: Number.parseInt(text.slice(second + 1), 36),
  };
  if (first < 1 || second < 0 || Number.isNaN(location.page + location.offset + location.length)) {
    throw new DatabaseError('storage_corrupt', `"${text}" is not the place of a document body; run a verification.`);
  }
  return location;
}

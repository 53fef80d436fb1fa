/** Multipart request bodies. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import * as multipart from '../../base/shared/multipart-reader.ts';

/** Returns the boundary that a content type names. Fails with `bad_request` if it names none. */
export function mustBoundaryOf(contentType: string): string {
  const boundary = multipart.boundaryOf(contentType);
  if (boundary !== undefined) return boundary;
  throw new DatabaseError('bad_request', `The Content-Type of a multipart body must name its boundary: ${contentType}`);
}

/** Returns the parts in order. Fails with `bad_request` if the body ends before its last boundary. */
export function readParts(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<multipart.IncomingPart, void, void> {
  return multipart.readParts(
    source,
    boundary,
    (reason) => new DatabaseError('bad_request', `${reason}; nothing was changed.`),
  );
}

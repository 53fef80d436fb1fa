/** Attachments, which a later version will have: 501 with what to do instead, and nothing is changed. */
import { DatabaseError } from '../../errors/database-error.ts';
import { isMultipart } from '../request/bodies.ts';
import type { Context } from '../request/context.ts';

export function noAttachments(remedy: string): DatabaseError {
  return new DatabaseError('not_implemented', `Attachments are not implemented yet. ${remedy}`);
}

/** `POST /{db}/{docid}` is the form upload, which needs attachments. */
export function refuseForm(context: Context): never {
  if (!isMultipart(context, 'form-data')) {
    throw new DatabaseError('bad_content_type', 'Content-Type must be multipart/form-data');
  }
  throw noAttachments('Write the document with PUT.');
}

import { DatabaseError } from '../../errors/database-error.ts';
import { isMultipart } from '../request/bodies.ts';
import type { Context } from '../request/context.ts';
import { noAttachments } from './writing.ts';

/** `POST /{db}/{docid}` is the form upload, which needs attachments. */
export function postForm(context: Context): never {
  if (!isMultipart(context, 'form-data')) {
    throw new DatabaseError('bad_content_type', 'Content-Type must be multipart/form-data');
  }
  throw noAttachments('Write the document with PUT.');
}

/** Responses that a page wants to save, under a name from its link (`browser/client/downloads.ts`). */

import type { PlainHeaders, PlainResponse } from '../../base/shared/message.ts';
import { downloadName } from '../bridge/wire/control.ts';

/** Returns the headers of the response, plus one that makes the browser save it if the request asks for that. RFC 6266, 4. */
export function withDownload({ mode, url }: Request, { status, headers }: PlainResponse): PlainHeaders {
  const name = mode === 'navigate' && status === 200 ? downloadName(url) : undefined;
  if (name === undefined || (name === '' && headers['content-disposition']?.startsWith('attachment'))) return headers;
  const named = name === '' ? '' : `; filename*=UTF-8''${extendedValue(name)}`;
  return { ...headers, 'content-disposition': `attachment${named}` };
}

/** RFC 8187, 3.2.1. */
function extendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Documents that are sent with their Blobs (docs/http/attachments.md#multipart-uploads). */

/** The body of a request and its type. */
export interface TypedBody {
  readonly type: string;
  readonly body: string | Blob;
}

/** The document as JSON, or, if attachments have Blobs as `data`, the document and the Blobs after it, which are neither encoded nor read here. */
export function toBody(document: object): TypedBody {
  const blobs: Blob[] = [];
  const attachments = Object.entries('_attachments' in document ? (document._attachments ?? {}) : {});
  const listed = attachments.map(([name, attachment]: [string, { data?: unknown }]) => {
    const { data, ...rest } = attachment;
    if (!(data instanceof Blob)) return [name, attachment];
    blobs.push(data);
    return [name, { ...(data.type && { content_type: data.type }), ...rest, length: data.size, follows: true }];
  });
  if (blobs.length === 0) return { type: 'application/json', body: JSON.stringify(document) };
  const boundary = crypto.getRandomValues(new Uint32Array(4)).join('-');
  const text = JSON.stringify({ ...document, _attachments: Object.fromEntries(listed) });
  const parts = blobs.flatMap((blob) => [`\r\n--${boundary}\r\n\r\n`, blob]);
  return {
    type: `multipart/related; boundary="${boundary}"`,
    body: new Blob([`--${boundary}\r\ncontent-type: application/json\r\n\r\n`, text, ...parts, `\r\n--${boundary}--`]),
  };
}

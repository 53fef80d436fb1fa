/** A stored content type, which may be any text, as a header can carry it. */
export function headerText(type: string): string {
  return type.replace(/[^ -~]+/g, '').trim() || 'application/octet-stream';
}

/** A stored content type as a header can carry it: it may have been given as any text. */
export function headerText(type: string): string {
  return type.replace(/[^ -~]+/g, '').trim() || 'application/octet-stream';
}

/** A stored content type as a header can carry it: whatever text was given. */
export function headerText(type: string): string {
  return type.replace(/[^ -~]+/g, '').trim() || 'application/octet-stream';
}

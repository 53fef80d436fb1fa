/** `GET /favicon.ico` */
import type { Answer } from '../../request/context.ts';
import { iconBytes } from './icon-data.ts';

/** The icon changes at most with the product, so browsers may keep it for a year (docs/http/server.md#favicon). */
export function getIcon(): Answer {
  const headers = { 'content-type': 'image/x-icon', 'cache-control': 'public, max-age=31536000' };
  return { status: 200, headers, body: iconBytes() };
}

/** `GET /favicon.ico` */
import type { Answer } from '../../request/context.ts';

/** The service's icon, a settee seen from the front: 16 and 32 pixels square, as PNG in an ICO file, in base64. */
const ICON =
  'AAABAAIAEBAAAAEAIAAhAQAAJgAAACAgAAABACAApQEAAEcBAACJUE5HDQoaCgAAAA1JSERSAAAAEAAAABAIBgAAAB/z/2EAAADo' +
  'SURBVHjaY2AYVEC/v9sciOuAuAEHBsmZ49P8B4j/w7BOWzMYI4tB1ZhjM6AOTeF/zepqMEYXB6nFZkADCQY0wDXK+oWrAvEDWf+I' +
  '/6o5+QQNAKkBqQXrAeoFGVALxP/BGChhNn3if6s5U8FYr7EBjGF8kBxUMwzXggxoQBL4H3Vg8/+YQ1vAOGjbajCG8UFyyGpBejEM' +
  'gCkG4cD1S8EYWYygASGbV8AVe8yZBsYwPkgOmwG1aIKk4FpELPiF/1HyDSGoCarmDzwWkEG2q/Z/IHbAldRBciA1DHgUVACxBB55' +
  'CZAaqmZAAPJ0RhB/Q3pjAAAAAElFTkSuQmCCiVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAABbElEQVR42mNgGAWj' +
  'YLAC/f5uLSDeBMRfgfg/mfgr1Awtciz/QIHF6PgDSY6AupqgwarZeWBMpCM2keIAooJdJS0LjImNDlIc8J8GDvg/6gCcFsr6hbMB' +
  '8SQg/gjE/+WCov6rZuX+1+/totwBQDNAZoHMBJkNtQNkFxuyAyZBJVEw2BEUOgBkBjazQXYiO+AjNkUgV1PqACSfo+OPyA7Apei/' +
  'ydQJ/12Wz//vtmIBCnZcPPu/Wk4+GIPY6PIgPSC9+MwmygGhu9b9jzm0BSt2XjYPjHHJg/RS7ABchoOw9/qlYIxPDU0d4AEMehAe' +
  'MAe4TJsIxjR1QPT+TTgNd5rUB8a45EF6KXaATXsLVkeEbl31XzMlA4xBbGyWg/RS7ABaYoIFEY3xR4JFMY3xJJyVEYg28PH5L+cX' +
  'RrFFIDNAZiGbjVEZYQPZrtr/obiB3IYtSC/MHHI0D7gD7gLxPyCOp8AB8VAz7o52dAYtAABbys2D/28JUgAAAABJRU5ErkJggg==';

/** Returns the ICO file's bytes. */
function iconBytes(): Uint8Array {
  return Uint8Array.from(atob(ICON), (byte) => byte.charCodeAt(0));
}

/** The icon changes at most with the product, so browsers may keep it for a year (docs/http/server.md#favicon). */
export function getIcon(): Answer {
  const headers = { 'content-type': 'image/x-icon', 'cache-control': 'public, max-age=31536000' };
  return { status: 200, headers, body: iconBytes() };
}

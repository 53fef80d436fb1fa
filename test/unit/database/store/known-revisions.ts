// MD5 over `deleted \n parent \n body`, worked out with md5sum.
export const FIRST = '1-106ce696331929f76acb254ffa1f37e6';
export const SECOND = '2-065b161850b73673032b7303a21122a8';
export const TOMBSTONE = '3-8f9b85a3aba08bf296e72ebd36fd4c4c';
export const FOURTH = '4-ffd8cf974a8c41e57315d743fe627261';

/** The version that the service reports (docs/http/server.md#server-information). A test checks that it equals package.json's. */
export const VERSION = '0.1.0';

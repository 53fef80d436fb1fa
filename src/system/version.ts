/** The version that the service reports (interface.md 2.1, 9). A test holds it equal to package.json's. */
export const VERSION = '0.1.0';

/** Made by `demo/build/plugin.ts`. */
declare module 'virtual:world' {
  /** A bit per square degree, from the north pole and 180° west, row by row, in base64: is there a city? */
  export const squares: string;
  /** How many documents each file has. */
  export const counts: { readonly countries: number; readonly cities: number };
}

declare module 'virtual:about' {
  /** The address of the repository; undefined if package.json names none. */
  export const repository: string | undefined;
}

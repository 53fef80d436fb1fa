/** Made by the build (packages/build/sandbox-program.ts) of the modules in runtime/. */
declare module 'virtual:sandbox-program' {
  /** The text of the function `createProgram` (runtime/main.ts), with all it takes. */
  export const SANDBOX_PROGRAM: string;
  /** Differs where that differs. */
  export const SANDBOX_PROGRAM_HASH: string;
}

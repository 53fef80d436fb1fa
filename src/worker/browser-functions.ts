/** The functions of documents as a worker has them. Entry of `settee-functions.js`, which a page's worker loads on first use. */
import type { CreateFunctions } from '../functions/contract.ts';
import { createFunctionService } from '../functions/function-service.ts';
import { createQuickJsSandbox } from '../query-server/quickjs-sandbox.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';

export const createBrowserFunctions: CreateFunctions = (parts) =>
  createFunctionService(parts, createQuickJsSandbox({ loadWasm: fetchQuickJsWasm }));

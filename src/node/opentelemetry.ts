/** `settee-server/opentelemetry`: a process that loads it makes spans. */
import { makeSpans } from './tracing/opentelemetry.ts';

makeSpans();

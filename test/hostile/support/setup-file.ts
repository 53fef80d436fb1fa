import { observeTests } from './observation.ts';

observeTests();

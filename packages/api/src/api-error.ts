import { TRPCError } from '@trpc/server';
import { ERROR_CATALOGUE, type ErrorCode } from './error-catalogue.ts';

/** A failure that the caller may see: the same code over REST (`code`) and tRPC (`error.data.errorCode`). */
export class ApiError extends TRPCError {
  readonly errorCode: ErrorCode;

  /** @param message more precise than the catalogue's message; must not repeat what the caller sent */
  constructor(errorCode: ErrorCode, message: string = ERROR_CATALOGUE[errorCode].message, cause?: unknown) {
    super({ code: ERROR_CATALOGUE[errorCode].trpcCode, message, cause });
    this.errorCode = errorCode;
  }
}

import type { DomainReason } from '@petstore/domain';
import { ApiError } from '../api-error.ts';
import { ERROR_CATALOGUE, ERROR_OF_REASON, type ErrorCode } from '../error-catalogue.ts';

/**
 * A refusal whose text is fixed. It is made once, while the program starts: refusals are as frequent as successes, and
 * recording a stack each time costs much. It is frozen, because all requests share it.
 *
 * @param message more precise than the catalogue's message
 */
export const createRefusal = (code: ErrorCode, message?: string): ApiError =>
  Object.freeze(new ApiError(code, message));

const REFUSALS = Object.fromEntries(
  Object.keys(ERROR_CATALOGUE).map((code) => [code, createRefusal(code as ErrorCode)]), // its own keys
) as Record<ErrorCode, ApiError>; // all of them

/** The error with which a request is refused, with the message of the catalogue. */
export const refusalOf = (code: ErrorCode): ApiError => REFUSALS[code];

const REFUSALS_BY_REASON = Object.fromEntries(
  Object.entries(ERROR_OF_REASON).map(([reason, { code, message }]) => [
    reason,
    message === undefined ? refusalOf(code) : createRefusal(code, message),
  ]),
) as Record<DomainReason, ApiError>; // all of them

/** The error that the caller gets for a reason of the domain. */
export const refusalOfReason = (reason: DomainReason): ApiError => REFUSALS_BY_REASON[reason];

import type { Trial } from './trial.ts';

export const VERSIONS = ['v1', 'v2'] as const;
export type Version = (typeof VERSIONS)[number];

/** A program of a package in node_modules/.bin, and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

interface BaseTool {
  /** One package, or several joined by " + "; behind the name of each there may be a remark. */
  readonly name: string;
  /** The packages to fetch, and their exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** Which options to set, in Markdown. */
  readonly options: string;
}

/** What calls the service: a client, or what makes one. */
export interface ClientTool extends BaseTool {
  readonly kind: 'generator' | 'client' | 'converter' | 'proxy';
  /** Its program in the folder `programs`, which calls by it. */
  readonly program: string;
  /** Files to write into its folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** What generates, from the documents at these URLs; they are in the folder, too, as `v1.json` and `v2.json`. */
  readonly generate?: (urls: Readonly<Record<Version, string>>) => readonly Command[];
  /** A program of the guide that is run, too, and what it prints. */
  readonly example?: { readonly file: string; readonly prints: RegExp };
  /** What runs between the calls and the service. */
  readonly proxy?: (route: { documentUrl: string; baseUrl: string; port: number }) => Command;
}

/** What judges the documents. */
export interface ValidatorTool extends BaseTool {
  readonly kind: 'validator';
  readonly files?: Readonly<Record<string, string>>;
  /** It ends with 0 where it has nothing to say against the document, however little. */
  readonly judge: (documentUrl: string) => Command;
}

export type Tool = ClientTool | ValidatorTool;

/** Whether the types of what was generated say it. */
export interface TypesOutcome {
  /** Whether an id that was read can be sent as it is. */
  readonly idsFit: boolean;
  /** Whether error codes are a closed union. */
  readonly codesAreClosed: boolean;
}

export interface ClientOutcome {
  readonly tool: ClientTool;
  readonly trials: Readonly<Record<TrialName, Trial | undefined>>;
  /** Left out for clients that have no types of our operations. */
  readonly types?: Readonly<Record<Version, TypesOutcome>>;
}

export interface ValidatorOutcome {
  readonly tool: ValidatorTool;
  /** What it said against each document; empty where it had nothing to say. */
  readonly complaints: Readonly<Record<Version, string>>;
}

export type Outcome = ClientOutcome | ValidatorOutcome;

/** The callers that a program may have: for v1 as the tool comes, and with the options that keep all digits. */
export const TRIAL_NAMES = ['v1', 'v1Exact', 'v2'] as const;
export type TrialName = (typeof TRIAL_NAMES)[number];

/** The parts of an OpenAPI 3.1 document that the page reads or adds to. */
export interface OpenApiDocument {
  info: { description?: string };
  externalDocs?: unknown;
  servers?: Server[];
  paths?: Record<string, Record<string, Operation>>;
  components?: {
    responses?: Record<string, Response>;
    securitySchemes?: Record<string, { description?: string }>;
  };
}

export interface Server {
  url: string;
  description?: string;
}

/** A page that tells more. */
export interface ExternalDocs {
  url: string;
  description?: string;
}

export interface Operation {
  operationId?: string;
  externalDocs?: ExternalDocs;
  tags?: string[];
  parameters?: Parameter[];
  responses?: Record<string, Response>;
  'x-badges'?: { name: string }[];
  'x-scalar-stability'?: string;
  'x-codeSamples'?: CodeSample[];
}

export interface Response {
  /** Leads to one of the components, in place of all else. */
  $ref?: string;
  description?: string;
  content?: Record<string, { schema?: { $ref?: string }; examples?: Record<string, unknown> }>;
}

export interface Parameter {
  name: string;
  in: string;
  example?: unknown;
}

export interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

/** What the page says of a guide, and where to read on. */
export interface GuideSummary {
  title: string;
  summary: string;
  /** Relative to the page. */
  href: string;
}

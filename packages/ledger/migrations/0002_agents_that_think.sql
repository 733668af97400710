CREATE TABLE "pawl"."approvals" (
	"run_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "pawl"."approvals_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"action_id" bigint NOT NULL,
	"item_seq" integer NOT NULL,
	"tool" text NOT NULL,
	"tool_version" text NOT NULL,
	"args_digest" text NOT NULL,
	"digest" text NOT NULL,
	"irreversible" boolean DEFAULT false NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"requested_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"decided_by" text,
	"decided_at" timestamp (3) with time zone,
	"note" text,
	"consumed_at" timestamp (3) with time zone,
	"consumed_ending" integer,
	CONSTRAINT "approvals_run_id_id_pk" PRIMARY KEY("run_id","id")
);
--> statement-breakpoint
CREATE TABLE "pawl"."attempts" (
	"run_id" uuid NOT NULL,
	"item_seq" integer NOT NULL,
	"epoch" integer NOT NULL,
	"worker_id" uuid NOT NULL,
	"agent_version" text NOT NULL,
	"model_version" text,
	"prompt_version" text,
	"schema_version" integer NOT NULL,
	"lock_digest" text,
	"build_version" text,
	"started_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "attempts_run_id_item_seq_epoch_pk" PRIMARY KEY("run_id","item_seq","epoch")
);
--> statement-breakpoint
CREATE TABLE "pawl"."questions" (
	"run_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "pawl"."questions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"item_seq" integer NOT NULL,
	"key" text NOT NULL,
	"order_no" bigint DEFAULT nextval('pawl.order_no') NOT NULL,
	"question" text NOT NULL,
	"answer_schema" text NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"answer" text,
	"asked_at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"answered_by" text,
	"answered_at" timestamp (3) with time zone,
	CONSTRAINT "questions_run_id_id_pk" PRIMARY KEY("run_id","id")
);
--> statement-breakpoint
CREATE TABLE "pawl"."turns" (
	"run_id" uuid NOT NULL,
	"item_seq" integer NOT NULL,
	"n" integer NOT NULL,
	"order_no" bigint DEFAULT nextval('pawl.order_no') NOT NULL,
	"epoch" integer NOT NULL,
	"model_version" text NOT NULL,
	"prompt_version" text NOT NULL,
	"decision" text NOT NULL,
	"input_tokens" integer DEFAULT 0 NOT NULL,
	"output_tokens" integer DEFAULT 0 NOT NULL,
	"cost_micros" bigint DEFAULT 0 NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "turns_run_id_item_seq_n_pk" PRIMARY KEY("run_id","item_seq","n")
);
--> statement-breakpoint
ALTER TABLE "pawl"."actions" ADD COLUMN "turn" integer;--> statement-breakpoint
ALTER TABLE "pawl"."actions" ADD COLUMN "approval_id" bigint;--> statement-breakpoint
ALTER TABLE "pawl"."actions" ADD COLUMN "staged_by" integer;--> statement-breakpoint
ALTER TABLE "pawl"."actions" ADD COLUMN "key_window_ms" bigint;--> statement-breakpoint
ALTER TABLE "pawl"."items" ADD COLUMN "schema_version" integer;--> statement-breakpoint
ALTER TABLE "pawl"."items" ADD COLUMN "tokens_used" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "pawl"."items" ADD COLUMN "cost_micros" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "pawl"."runs" ADD COLUMN "tools" jsonb;--> statement-breakpoint
ALTER TABLE "pawl"."workers" ADD COLUMN "builds" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
CREATE INDEX "approvals_by_action" ON "pawl"."approvals" USING btree ("run_id","action_id");--> statement-breakpoint
CREATE INDEX "approvals_open" ON "pawl"."approvals" USING btree ("run_id","id") WHERE status = 'open';--> statement-breakpoint
CREATE UNIQUE INDEX "questions_by_key" ON "pawl"."questions" USING btree ("run_id","item_seq","key");--> statement-breakpoint
CREATE INDEX "questions_open" ON "pawl"."questions" USING btree ("run_id","id") WHERE status = 'open';--> statement-breakpoint
CREATE INDEX "actions_staged" ON "pawl"."actions" USING btree ("run_id","order_no") WHERE status = 'staged';
"""IAM's names of operations: `states:StartExecution` is StartExecution of Step Functions.

For operations that no service here implements; services here name their own actions. Names of services are
those of AWS's SDKs in lower case, without blanks and hyphens (`sfn`), or those of botocore's folders (`stepfunctions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_DENIED_OTHERWISE: Mapping[str, str] = MappingProxyType({"ec2": "UnauthorizedOperation", "sns": "AuthorizationError"})

_NAMED_OTHERWISE = frozenset(
    "apigateway apigatewaymanagementapi apigatewayv2 budgets connectparticipant s3control s3outposts".split()
)
"""Services in which many permissions have other names than their operations."""

_OF_S3: Mapping[str, str] = MappingProxyType(
    dict(
        pair.split("=")
        for pair in """
CompleteMultipartUpload=PutObject CopyObject=PutObject
CreateBucketMetadataConfiguration=CreateBucketMetadataTableConfiguration
CreateMultipartUpload=PutObject DeleteBucketAnalyticsConfiguration=PutAnalyticsConfiguration
DeleteBucketCors=PutBucketCORS DeleteBucketEncryption=PutEncryptionConfiguration
DeleteBucketIntelligentTieringConfiguration=PutIntelligentTieringConfiguration
DeleteBucketInventoryConfiguration=PutInventoryConfiguration DeleteBucketLifecycle=PutLifecycleConfiguration
DeleteBucketMetadataConfiguration=DeleteBucketMetadataTableConfiguration
DeleteBucketMetricsConfiguration=PutMetricsConfiguration DeleteBucketOwnershipControls=PutBucketOwnershipControls
DeleteBucketReplication=PutReplicationConfiguration DeleteBucketTagging=PutBucketTagging
DeleteObjects=DeleteObject DeletePublicAccessBlock=PutBucketPublicAccessBlock
GetBucketAccelerateConfiguration=GetAccelerateConfiguration GetBucketAnalyticsConfiguration=GetAnalyticsConfiguration
GetBucketCors=GetBucketCORS GetBucketEncryption=GetEncryptionConfiguration
GetBucketIntelligentTieringConfiguration=GetIntelligentTieringConfiguration
GetBucketInventoryConfiguration=GetInventoryConfiguration GetBucketLifecycle=GetLifecycleConfiguration
GetBucketLifecycleConfiguration=GetLifecycleConfiguration
GetBucketMetadataConfiguration=GetBucketMetadataTableConfiguration
GetBucketMetricsConfiguration=GetMetricsConfiguration GetBucketNotificationConfiguration=GetBucketNotification
GetBucketReplication=GetReplicationConfiguration GetObjectLockConfiguration=GetBucketObjectLockConfiguration
GetPublicAccessBlock=GetBucketPublicAccessBlock HeadBucket=ListBucket HeadObject=GetObject
ListBucketAnalyticsConfigurations=GetAnalyticsConfiguration
ListBucketIntelligentTieringConfigurations=GetIntelligentTieringConfiguration
ListBucketInventoryConfigurations=GetInventoryConfiguration ListBucketMetricsConfigurations=GetMetricsConfiguration
ListBuckets=ListAllMyBuckets ListMultipartUploads=ListBucketMultipartUploads ListObjectVersions=ListBucketVersions
ListObjects=ListBucket ListObjectsV2=ListBucket ListParts=ListMultipartUploadParts
PutBucketAccelerateConfiguration=PutAccelerateConfiguration PutBucketAnalyticsConfiguration=PutAnalyticsConfiguration
PutBucketCors=PutBucketCORS PutBucketEncryption=PutEncryptionConfiguration
PutBucketIntelligentTieringConfiguration=PutIntelligentTieringConfiguration
PutBucketInventoryConfiguration=PutInventoryConfiguration PutBucketLifecycle=PutLifecycleConfiguration
PutBucketLifecycleConfiguration=PutLifecycleConfiguration PutBucketMetricsConfiguration=PutMetricsConfiguration
PutBucketNotificationConfiguration=PutBucketNotification PutBucketReplication=PutReplicationConfiguration
PutObjectLockConfiguration=PutBucketObjectLockConfiguration PutPublicAccessBlock=PutBucketPublicAccessBlock
RenameObject=PutObject SelectObjectContent=GetObject UploadPart=PutObject UploadPartCopy=PutObject
""".split()
    )
)
"""The permission that an operation of S3 needs, where the names differ: `s3:ListBucket` is for ListObjectsV2.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
"""

_ACTIONS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("dynamodb", "BatchExecuteStatement"): ("PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"),
        ("dynamodb", "ExecuteStatement"): ("PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"),
        ("dynamodb", "ExecuteTransaction"): ("PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"),
        ("lambda", "GetLayerVersionByArn"): ("GetLayerVersion",),
        ("lambda", "InvokeAsync"): ("InvokeFunction",),
        ("lambda", "InvokeWithResponseStream"): ("InvokeFunction",),
    }
)
"""Operations that need a permission of another name, or any of several."""

_PREFIXES: Mapping[str, str] = MappingProxyType(
    dict(
        pair.split("=")
        for pair in """
accessanalyzer=access-analyzer accountaccess=account-access accountaccessruntime=account-access acmpca=acm-pca
agentregistry=agent-registry agentregistrycontrol=agent-registry amp=aps apigatewaymanagementapi=execute-api
apigatewayv2=apigateway appconfigdata=appconfig appintegrations=app-integrations
applicationautoscaling=application-autoscaling applicationcostprofiler=application-cost-profiler
applicationdiscoveryservice=discovery applicationsignals=application-signals arcregionswitch=arc-region-switch
arczonalshift=arc-zonal-shift autoscalingplans=autoscaling-plans backupgateway=backup-gateway
backupsearch=backup-search bcmdashboards=bcm-dashboards bcmdataexports=bcm-data-exports
bcmpricingcalculator=bcm-pricing-calculator bcmrecommendedactions=bcm-recommended-actions bedrockagent=bedrock
bedrockagentcore=bedrock-agentcore bedrockagentcorecontrol=bedrock-agentcore bedrockagentruntime=bedrock
bedrockdataautomation=bedrock bedrockdataautomationruntime=bedrock bedrockruntime=bedrock chimesdkidentity=chime
chimesdkmediapipelines=chime chimesdkmeetings=chime chimesdkmessaging=chime chimesdkvoice=chime
cleanroomsml=cleanrooms-ml cloudcontrol=cloudformation cloudfrontkeyvaluestore=cloudfront-keyvaluestore
cloudhsmv2=cloudhsm cloudsearchdomain=cloudsearch cloudtraildata=cloudtrail-data cloudwatchlogs=logs
cloudwatchomni=cloudwatch codeguruprofiler=codeguru-profiler codegurureviewer=codeguru-reviewer
codegurusecurity=codeguru-security codestarconnections=codestar-connections
codestarnotifications=codestar-notifications cognitoidentity=cognito-identity cognitoidentityprovider=cognito-idp
cognitoidp=cognito-idp cognitosync=cognito-sync computeoptimizer=compute-optimizer
computeoptimizerautomation=aco-automation configservice=config connectcampaigns=connect-campaigns
connectcampaignsv2=connect-campaigns connectcases=cases connectcontactlens=connect connecthealth=health-agent
connectparticipant=execute-api connectscheduling=connect costandusagereportservice=cur costexplorer=ce
costoptimizationhub=cost-optimization-hub customerprofiles=profile databasemigrationservice=dms
devopsagent=aidevops devopsguru=devops-guru directoryservice=ds directoryservicedata=ds-data docdb=rds
docdbelastic=docdb-elastic dsdata=ds-data dynamodbstreams=dynamodb ec2instanceconnect=ec2-instance-connect
ecrpublic=ecr-public efs=elasticfilesystem eksauth=eks-auth elasticloadbalancingv2=elasticloadbalancing
elasticsearchservice=es elb=elasticloadbalancing elbv2=elasticloadbalancing elementalinference=elemental-inference
emr=elasticmapreduce emrcontainers=emr-containers emrserverless=emr-serverless endusermessaging=end-user-messaging
eventbridge=events eventbridgev2=events forecastquery=forecast geomaps=geo-maps geoplaces=geo-places
georoutes=geo-routes greengrassv2=greengrass iamtoolbox=iam inspectorscan=inspector-scan iotdata=iot
iotdataplane=iot iotjobsdataplane=iotjobsdata iotsecuretunneling=iot ivsrealtime=ivs kendraranking=kendra-ranking
keyspaces=cassandra keyspacesstreams=cassandra kinesisanalyticsv2=kinesisanalytics
kinesisvideoarchivedmedia=kinesisvideo kinesisvideomedia=kinesisvideo kinesisvideosignaling=kinesisvideo
kinesisvideowebrtcstorage=kinesisvideo lambdacore=lambda lambdamicrovms=lambda lambdaweb=lambda
lexmodelbuildingservice=lex lexmodels=lex lexmodelsv2=lex lexruntime=lex lexruntimeservice=lex lexruntimev2=lex
lexv2models=lex lexv2runtime=lex licensemanager=license-manager
licensemanagerlinuxsubscriptions=license-manager-linux-subscriptions
licensemanagerusersubscriptions=license-manager-user-subscriptions location=geo mailmanager=ses
managedblockchainquery=managedblockchain-query marketplaceagreement=aws-marketplace
marketplacecatalog=aws-marketplace marketplacedeployment=aws-marketplace marketplacediscovery=aws-marketplace
marketplaceentitlement=aws-marketplace marketplaceentitlementservice=aws-marketplace
marketplacemetering=aws-marketplace marketplacereporting=aws-marketplace mediapackagevod=mediapackage-vod
mediastoredata=mediastore medicalimaging=medical-imaging meteringmarketplace=aws-marketplace migrationhub=mgh
migrationhubconfig=mgh migrationhuborchestrator=migrationhub-orchestrator
migrationhubrefactorspaces=refactor-spaces migrationhubstrategy=migrationhub-strategy mturk=mturk-requester
mwaa=airflow mwaaserverless=airflow-serverless neptune=rds neptunedata=neptune-db neptunegraph=neptune-graph
networkfirewall=network-firewall networksecuritymanager=network-security-manager
notificationscontacts=notifications-contacts novaact=nova-act opensearch=es opensearchmemory=osm
opensearchserverless=aoss partnercentralaccount=partnercentral-account
partnercentralbenefits=partnercentral-benefits partnercentralchannel=partnercentral-channel
partnercentralrevenuemeasurement=partnercentral partnercentralselling=partnercentral-selling
paymentcryptography=payment-cryptography paymentcryptographydata=payment-cryptography
pcaconnectorad=pca-connector-ad pcaconnectorscep=pca-connector-scep personalizeevents=personalize
personalizeruntime=personalize pinpoint=mobiletargeting pinpointemail=ses pinpointsmsvoice=sms-voice
pinpointsmsvoicev2=sms-voice qconnect=wisdom rdsdata=rds-data redshiftdata=redshift-data
redshiftserverless=redshift-serverless resiliencehubv2=resiliencehub resourceexplorer2=resource-explorer-2
resourcegroups=resource-groups resourcegroupstaggingapi=tag route53recoverycluster=route53-recovery-cluster
route53recoverycontrolconfig=route53-recovery-control-config route53recoveryreadiness=route53-recovery-readiness
s3control=s3 s3outposts=s3-outposts sagemakera2iruntime=sagemaker sagemakeredge=sagemaker
sagemakerfeaturestoreruntime=sagemaker sagemakergeospatial=sagemaker-geospatial
sagemakerinferencerouterruntime=sagemaker sagemakerjobruntime=sagemaker sagemakermetrics=sagemaker
sagemakerruntime=sagemaker sagemakertrainingsessionruntime=sagemaker securityir=security-ir
serverlessapplicationrepository=serverlessrepo servicecatalogappregistry=servicecatalog sesv2=ses sfn=states
signerdata=signer simpledb=sdb simpledbv2=sdb smsvoice=sms-voice snowdevicemanagement=snow-device-management
socialmessaging=social-messaging ssmcontacts=ssm-contacts ssmguiconnect=ssm-guiconnect ssmincidents=ssm-incidents
ssmquicksetup=ssm-quicksetup ssmsap=ssm-sap ssoadmin=sso ssooidc=sso-oauth stepfunctions=states supplychain=scn
taxsettings=tax timestreaminfluxdb=timestream-influxdb timestreamquery=timestream timestreamwrite=timestream
vpclattice=vpc-lattice wafregional=waf-regional workspacesinstances=workspaces-instances
workspacesthinclient=thinclient workspacesweb=workspaces-web
""".split()
    )
)
"""Prefixes of services' actions, where they differ from the service's name.

They are the signing names from botocore's models, except where the Service Authorization Reference has another prefix.

Source:
https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
"""


def prefix_of(service: str) -> str:
    """The prefix of a service's actions: `states` for `sfn`."""
    name = service.lower().replace("-", "")
    return _PREFIXES.get(name, name)


def actions_of(service: str, operation: str) -> tuple[str, ...]:
    """The actions of which an operation needs one. If the name does not tell, all actions of the service."""
    prefix = prefix_of(service)
    if service.replace("-", "") in _NAMED_OTHERWISE:
        return (f"{prefix}:*",)
    if service == "s3":
        return (f"s3:{_OF_S3.get(operation, operation)}",)
    return tuple(f"{prefix}:{name}" for name in _ACTIONS.get((service, operation), (operation,)))


def denied_code(service: str) -> str:
    """The code of the error with which a service refuses a caller without permission."""
    return _DENIED_OTHERWISE.get(service, "AccessDeniedException")
